# A path in a job, misspelled.
graphrun help train.updatse
