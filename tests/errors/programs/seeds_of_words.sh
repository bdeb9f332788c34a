# Seeds are numbers.
graphrun train tags.pbtxt --out model --seeds one,two
