# No file to check.
graphrun check
