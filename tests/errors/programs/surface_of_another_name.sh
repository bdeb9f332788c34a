# A surface is over x and y.
graphrun plot --surface 'sigmoid(x - z)' -o surface.svg
