"""What the page shows of one row, one module each with TITLE, ORDER, `body(page)`, which takes the PageView
of that row, and `about(page)`, which is shown once, behind all rows; chapters/rows.py finds them. IS_WHY:
whether it says why the figures are as they are. The others are folded."""
