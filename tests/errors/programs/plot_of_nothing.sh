# A folder without runs.
mkdir folder
graphrun plot folder
