# A path in a job, misspelt.
graphrun help train.updatse
