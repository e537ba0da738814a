"""The history: sessions in a database, the course of a row, and where it changed."""
