# The module that draws is not beside the library.
mkdir lib
cp "$(dirname "$(command -v graph-dump)")/libgraphrun.so.0" lib
cat > cell.pbtxt <<END
name: "cell"
input { name: "x" shape: "[batch, 2]" }
output: "y = tanh(x)"
END
LD_LIBRARY_PATH=$PWD/lib graph-dump cell.pbtxt --format=svg
