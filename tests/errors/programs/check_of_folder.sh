# A folder for a file.
mkdir folder
graphrun check folder
