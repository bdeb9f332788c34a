# A topic by a wrong name.
graphrun help langage
