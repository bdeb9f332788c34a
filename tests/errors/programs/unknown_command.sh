# A command that does not exist.
graphrun trian tags.pbtxt
