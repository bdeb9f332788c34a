graphrun train tags.pbtxt --out model --quiet --set train.epochs+=2
