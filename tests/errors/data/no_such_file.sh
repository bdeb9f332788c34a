# Several files that are not there, told together.
graphrun check tags.pbtxt --set data.train=trian.conll --set data.valid=vaild.conll
