# A second time changes nothing, and a wrong checksum installs nothing.
sum=$(sha256sum ~/.local/bin/siglum)
curl -fsSL {{site}}/releases/latest/download/install.sh | sh
[ "$(sha256sum ~/.local/bin/siglum)" = "$sum" ]
if curl -fsSL {{site}}/releases/latest/download/install.sh | SIGLUM_INSTALL_FROM={{site}}/releases/damaged sh -s -- --prefix /opt/other; then
    echo 'error: a wrong checksum was taken' >&2
    exit 1
fi
[ ! -e /opt/other ]
