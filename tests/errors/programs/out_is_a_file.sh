# A file where the folder goes.
echo x > model
graphrun train tags.pbtxt --out model
