"""One report file per module: NAME is the file's name, render(view) gives its text."""
