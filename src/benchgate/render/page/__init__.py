"""The session's page: one HTML file of chapters and pictures, without scripts or network."""
