#!/bin/bash
# Runs a program and its shared libraries on an emulated CPU with AVX-512. Boots Debian's cloud kernel in Bochs,
# which takes a minute or two.
#
#     tools/emulate.sh PROGRAM [ARGUMENT...]       LIMIT=seconds, default 1800
#
# Needs: apt-get install bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso cpio
#        busybox-static (and downloads linux-image-cloud-amd64 into build/emulate, not installed)
set -euo pipefail
program=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
here=$PWD/build/emulate
mkdir -p "$here"

if ! ls "$here"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
  package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
  (cd "$here" && apt-get download -qq "$package" && dpkg -x "$package"_*.deb kernel && rm ./*.deb)
fi

work=$(mktemp -d "$here/run.XXXXXX")
trap 'kill "$keeper" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work"/image/{bin,proc,dev,tmp} "$work"/iso/isolinux
cp /bin/busybox "$work/image/bin/"
cp "$program" "$work/image/program"
ldd "$program" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
  cp --parents -L "$library" "$work/image"
done || true # a static program needs none
cat >"$work/image/init" <<E2
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
echo ==BEGIN
ATTN_THREADS=1 /program $* 2>&1
echo "==END \$?"
while :; do /bin/busybox sleep 1000; done
E2
chmod +x "$work/image/init"
(cd "$work/image" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/iso/initrd.gz"
cp "$here"/kernel/boot/vmlinuz-* "$work/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/isolinux/"
# Bochs has no APERF/MPERF, and its sizes of XSAVE areas differ: clear those bits (124, 321, 323).
cat >"$work/iso/isolinux/isolinux.cfg" <<'E2'
default a
prompt 0
label a
kernel /vmlinuz
append initrd=/initrd.gz console=ttyS0,115200 quiet mitigations=off clearcpuid=124,321,323 nosmp lsm= lapic=notscdeadline highres=off nohz=off nolapic_timer nopku
E2
(cd "$work" && xorriso -as mkisofs -quiet -o boot.iso -b isolinux/isolinux.bin -c isolinux/boot.cat \
  -no-emul-boot -boot-load-size 4 -boot-info-table iso 2>/dev/null)
cat >"$work/rc" <<'E2'
plugin_ctrl: unmapped=1, biosdev=1, speaker=0, extfpuirq=1, parallel=1, serial=1, gameport=0, iodebug=0
display_library: rfb, options="timeout=0"
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
megs: 512
cpu: model=corei7_skylake_x, count=1, ips=50000000, reset_on_triple_fault=0
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: log
panic: action=report
error: action=ignore
info: action=ignore
clock: sync=none
E2
mkfifo "$work/commands"
limit=${LIMIT:-1800}
sleep "$limit" >"$work/commands" &
keeper=$!
(cd "$work" && exec timeout --foreground "$limit" bochs -q -f rc <commands >out 2>&1) &
emulator=$!
echo c >"$work/commands"
for ((second = 0; second < limit; second++)); do
  grep -q '^==END' "$work/serial.txt" 2>/dev/null && break
  sleep 1
done
pkill -P "$emulator" || true # bochs is a child of its starter
kill "$emulator" 2>/dev/null || true
tr -d '\r' <"$work/serial.txt" | sed -n '/^==BEGIN/,/^==END/p' | sed '1d;$d'
status=$(tr -d '\r' <"$work/serial.txt" | sed -n 's/^==END //p')
exit "${status:-124}"
