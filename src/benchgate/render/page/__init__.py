"""The session's page: one HTML file of parts and pictures, without scripts or network."""
