# Options that are near are offered.
graphrun train tags.pbtxt --out model --theads 2
