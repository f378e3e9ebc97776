#!/usr/bin/env bash
# Runs tests on an emulated processor with AVX-512: Bochs, a Linux kernel, and a JDK beside the compiled tests.
#
#   tools/avx512/run.sh [--bf16] TEST...
#
#   --bf16    also with the instructions of AVX-512 BF16, which bf16.c computes: Bochs 2.7 does not have them
#   TEST      a class of tests without its package, such as GeneratedSoftmaxTest
#
# A second of a processor takes one to two minutes, and the kernel starts in three and a half; PanelMatmulTest had not
# ended after twenty. Needs Debian 12 with `apt install bochs bochsbios bochs-term vgabios isolinux syslinux-common
# xorriso e2fsprogs cpio kmod busybox-static gcc`, a JDK 25 in JAVA_HOME, and compiled classes: `mvn test-compile -pl
# app -am`. Exits with 0 if all tests pass, whatever becomes of the emulator afterwards.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
app=$here/../../app
work=$here/target
bf16=
case ${1:-} in
    --bf16) bf16=1; shift ;;
    -*) set -- ;;
esac
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1 >&2; exit 2; }
export PATH=$PATH:/sbin:/usr/sbin
for command in bochs-bin xorriso mke2fs cpio depmod gcc mvn; do
    command -v $command >/dev/null || { echo "run.sh: no $command; apt install what run.sh lists" >&2; exit 2; }
done
[ -x "${JAVA_HOME:-}/bin/java" ] || { echo "run.sh: set JAVA_HOME to a JDK 25" >&2; exit 2; }
[ -d "$app/target/test-classes" ] || { echo "run.sh: first run mvn test-compile -pl app -am" >&2; exit 2; }
classes=()
for test in "$@"; do
    file=$(cd "$app/target/test-classes" && find . -name "$test.class" | head -1)
    [ -n "$file" ] || { echo "run.sh: no class $test in $app/target/test-classes" >&2; exit 2; }
    file=${file#./}
    file=${file%.class}
    classes+=("--select-class=${file//\//.}")
done

# ---- the kernel, and a first file system with the drivers of the disk ----

mkdir -p "$work"
cd "$work"
if [ ! -f kernel/done ]; then
    rm -rf kernel
    mkdir kernel
    package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-\)/\1/p' | head -1)
    cd kernel
    apt-get -qq download "$package" 2>/dev/null
    dpkg -x "$package"*.deb .
    depmod -b . "$(ls lib/modules)"
    cd ..
    touch kernel/done
fi
modules=kernel/lib/modules/$(ls kernel/lib/modules)
rm -rf first disk boot
mkdir -p first/{bin,modules,proc,sys,dev,disk} disk/{bin,proc,sys,dev,tmp,etc,lib64,lib/x86_64-linux-gnu} boot
needed() { # MODULE: its files, those that it depends on first
    local line
    line=$(grep "/$1\.ko:" "$modules/modules.dep")
    printf '%s\n' ${line#*:} | tac
    printf '%s\n' "${line%%:*}"
}
for module in ata_piix sd_mod ext4 crc32c_generic; do needed $module; done | grep . | awk '!seen[$0]++' >first/order
while read -r file; do cp "$modules/$file" first/modules/; done <first/order
sed -i 's#.*/##' first/order
busybox=$(command -v busybox)
cp "$busybox" first/bin/
cat >first/init <<'EOF'
#!/bin/busybox sh
for place in proc:proc sysfs:sys devtmpfs:dev; do /bin/busybox mount -t ${place%:*} none /${place#*:}; done
while read -r module; do /bin/busybox insmod /modules/$module; done </order
/bin/busybox sleep 1
/bin/busybox mount -t ext4 /dev/sda /disk
for place in proc sys dev; do /bin/busybox mount --move /$place /disk/$place; done
exec /bin/busybox switch_root /disk /init
EOF
chmod +x first/init
(cd first && find . | cpio -o -H newc 2>/dev/null | gzip) >boot/initrd.gz
cp kernel/boot/vmlinuz-* boot/vmlinuz
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 boot/
# Without XSAVEC (321) and XSAVES (323), whose sizes in Bochs the kernel does not accept.
cat >boot/isolinux.cfg <<'EOF'
default linux
prompt 0
label linux
  kernel /vmlinuz
  append initrd=/initrd.gz console=ttyS0 quiet loglevel=3 mitigations=off panic=-1 clearcpuid=321,323
EOF
xorriso -as mkisofs -quiet -o boot.iso -b isolinux.bin -no-emul-boot -boot-load-size 4 -boot-info-table boot 2>/dev/null

# ---- the disk: Java, the classes, and what runs them ----

mkdir disk/java disk/app
cp -r "$JAVA_HOME"/{bin,conf,lib} disk/java/
rm -f disk/java/lib/src.zip
cp -r "$app"/target/{classes,test-classes,lib} disk/app/
junit=$(sed -n 's#.*<junit.version>5\.\(.*\)</junit.version>#1.\1#p' "$app/../pom.xml") # of its platform
mvn -B -q -f "$app/../pom.xml" -N dependency:copy -DoutputDirectory="$work/disk/app/lib" \
    -Dartifact="org.junit.platform:junit-platform-console-standalone:$junit" 2>/dev/null
cp -r "$app/../config" disk/
cp "$busybox" disk/bin/
for command in sh mount sed sleep poweroff; do ln -s busybox disk/bin/$command; done
libraries=/usr/lib/x86_64-linux-gnu
for library in $libraries/lib{gomp.so.1,stdc++.so.6} $(ldd disk/java/bin/java disk/java/lib/server/libjvm.so \
    $libraries/lib{gomp.so.1,stdc++.so.6} | awk '$3 ~ /^\/(usr\/)?lib\//{print $3}' | sort -u); do
    cp -L "$library" disk/lib/x86_64-linux-gnu/
done
cp -L /lib64/ld-linux-x86-64.so.2 disk/lib64/
gcc -O2 -mfma -Wall -Wextra -Wno-parentheses -shared -fPIC -o disk/lib/bf16.so "$here/bf16.c"
echo root:x:0:0::/tmp:/bin/sh >disk/etc/passwd
# By default Java leaves the vectors of 512 bits unused on this processor.
cat >disk/init <<EOF
#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t tmpfs none /tmp
if [ -n "$bf16" ]; then
    sed 's/^flags.*/& avx512_bf16/' /proc/cpuinfo >/tmp/cpuinfo
    mount -o bind /tmp/cpuinfo /proc/cpuinfo
    export LD_PRELOAD=/lib/bf16.so
fi
cd /app
/java/bin/java -XX:UseAVX=3 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m --add-modules jdk.incubator.vector \\
    --enable-native-access=ALL-UNNAMED -cp 'test-classes:classes:lib/*' \\
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=summary \\
    --exclude-tag=slow --exclude-tag=cuda --exclude-tag=simulated ${classes[*]}
echo "exit status \$?"
sleep 5 # until the serial line has all
poweroff -f
EOF
chmod +x disk/init
rm -f disk.img
mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -d disk disk.img 900M >/dev/null

# ---- the machine. Java's memory and the kernel's fit into 2 GB. ----

cat >bochsrc <<'EOF'
display_library: rfb, options="timeout=0"
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=corei7_skylake_x, count=1, ips=200000000
memory: guest=2048, host=2048
boot: cdrom
ata0-master: type=disk, path=disk.img, mode=flat
ata1: enabled=1
ata1-master: type=cdrom, path=boot.iso, status=inserted
com1: enabled=1, mode=file, dev=screen.txt
log: bochs.log
panic: action=fatal
error: action=report
EOF
echo continue >commands
rm -f screen.txt disk.img.lock
bochs-bin -q -f bochsrc -rc commands >bochs.out 2>&1 </dev/null &
machine=$!
trap 'kill $machine 2>/dev/null || true' EXIT
until [ -e screen.txt ] || ! kill -0 $machine 2>/dev/null; do sleep 1; done
tail -f --pid=$machine -n +1 screen.txt
grep -q '^exit status 0' screen.txt
