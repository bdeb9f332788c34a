# A mean of one model.
graphrun average model --out mean
