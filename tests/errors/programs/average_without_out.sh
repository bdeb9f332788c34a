# A mean that goes nowhere.
graphrun average a b
