# An operator by a wrong name.
graphrun help sigmoyd
