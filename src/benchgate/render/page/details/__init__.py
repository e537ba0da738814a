"""What the page shows of one row, one module each with TITLE, ORDER, IS_PICTURE (it is one picture with this
title), `body(page)`, which takes the PageView of that row, and `about(page)`, which is shown once, behind all
rows; chapters/rows.py finds them."""
