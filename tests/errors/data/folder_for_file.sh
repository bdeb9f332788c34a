# A folder where a file is expected.
mkdir folder
graphrun check tags.pbtxt --set data.train=folder
