"""One module per report file: NAME is the file's name, render(view) gives its text."""
