# A folder that must not be written to. Root may write anywhere, unless it gives that up.
mkdir locked
chmod 555 locked
chmod 755 .
as_anyone=''
if [ "$(id -u)" = 0 ]; then as_anyone='setpriv --bounding-set=-dac_override,-dac_read_search'; fi
$as_anyone "$(command -v graphrun)" train tags.pbtxt --out locked/model
