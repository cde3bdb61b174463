# decant as a container image: the importer pod's worker, the command line, and the companions that CDI's importer image has.
#
#   docker build -t decant .        or: buildah build -t decant .
#
# BASE is Debian 12 or something made of it. One that has Node.js 24 keeps its own; a bare one gets the version that
# package-lock.json pins. A machine behind a mirror or a proxy hands its settings in as secrets, which stay in no layer:
# `--secret id=apt,src=…` (apt.conf), `--secret id=npmrc,src=…`, `--secret id=ca,src=…` (certificates, PEM).
ARG BASE=docker.io/library/node:24-bookworm-slim

# What the programs are built with.
FROM ${BASE} AS tools
RUN --mount=type=secret,id=apt --mount=type=secret,id=ca \
    if [ -e /run/secrets/apt ]; then export APT_CONFIG=/run/secrets/apt; fi; \
    command -v npm > /dev/null || npm=npm; \
    apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-unsafe-io \
      ca-certificates gcc golang-go libc6-dev $npm && \
    apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /usr/lib/decant

# The packages, without their scripts: only one has to be compiled, and Debian's node-gyp would link it to Debian's Node.js.
FROM tools AS packages
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc --mount=type=secret,id=ca \
    export NPM_CONFIG_USERCONFIG=/run/secrets/npmrc; \
    if [ -e /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && \
    node=$PWD/$(echo node_modules/node-linux-*) && cd node_modules/@ronomon/direct-io && \
    gcc -shared -fPIC -O2 -I"$node/include/node" -DNODE_GYP_MODULE_NAME=binding -o binding.node binding.c && \
    "$node/bin/node" -e 'require("koffi"); require("@ronomon/direct-io")'

# Statically linked, because it is copied into images that hold nothing else.
FROM tools AS image-server
COPY companions/image-server ./
RUN CGO_ENABLED=0 GOCACHE=/tmp/go-build go build -buildvcs=false -trimpath -ldflags="-s -w" -o image-server . && \
    rm -rf /tmp/go-build

# What only builds and tests need goes again, declarations and maps of packages, and a Node.js like the one of the base image.
FROM packages AS build
COPY . ./
RUN npm run -s build && \
    node -e 'for (const [folder, { dev }] of Object.entries(require("./package-lock.json").packages)) \
      if (dev) fs.rmSync(folder, { recursive: true, force: true });' && \
    find node_modules -type f -regex '.*\.\(map\|d\.[cm]?ts\)' -delete && \
    rm -rf bin/*.ts cmd controller formats importer companions tsconfig.json package-lock.json node_modules/.bin node_modules/.cache && \
    cd node_modules/node-linux-* && rm -rf include share && \
    if [ "$(node -p 'process.versions.node.split(".")[0]')" = 24 ]; then ln -sf "$(command -v node)" bin/node; fi && \
    chmod -R a+rX /usr/lib/decant

FROM ${BASE}
LABEL org.opencontainers.image.title="decant" \
      org.opencontainers.image.description="Pours a virtual-machine image, wherever it is and however it is wrapped, into a raw disk" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# The decoders of the system are faster than the portable ones, and give the same bytes. 107 is qemu's user and group.
RUN --mount=type=secret,id=apt --mount=type=secret,id=ca \
    if [ -e /run/secrets/apt ]; then export APT_CONFIG=/run/secrets/apt; fi; \
    apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
      ca-certificates libdeflate0 libisal2 liblzma5 libzstd1 && \
    apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/* && \
    groupadd --gid 107 qemu && \
    useradd --uid 107 --gid 107 --home-dir / --no-create-home --shell /usr/sbin/nologin qemu
COPY --from=image-server /usr/lib/decant/image-server /usr/bin/cdi-containerimage-server
COPY --from=build /usr/lib/decant /usr/lib/decant
# Node.js keeps compiled programs for each user, in a folder that nobody can write at run time. What runs here fills it: a
# conversion with worker threads, an import, and then every other part that can be loaded by itself.
RUN for name in decant cdi-importer cdi-image-size-detection; do ln -s ../lib/decant/bin/decant /usr/bin/$name; done && \
    cd /usr/lib/decant && install -d -o 107 -g 107 node_modules/.cache/decant /tmp/warm && \
    as_107="setpriv --reuid 107 --regid 107 --clear-groups" && \
    $as_107 decant convert --progress none --threads 2 - null: < images/qcow2/two-partitions.qcow2 && \
    $as_107 env IMPORTER_SOURCE=none IMPORTER_CONTENTTYPE=kubevirt IMPORTER_IMAGE_SIZE=1Mi PREALLOCATION=false \
      DECANT_METRICS_PORT=0 DECANT_DATA_DIR=/tmp/warm DECANT_TERMINATION_LOG=/tmp/warm/log cdi-importer && \
    $as_107 env NODE_COMPILE_CACHE=$PWD/node_modules/.cache/decant sh bin/node24 --max-semi-space-size=1 -e ' \
      for (const file of fs.globSync("dist/*-[A-Z0-9]*.js")) import("./" + file).catch(() => undefined);' && \
    chown -R 0:0 node_modules/.cache && chmod -R a+rX,go-w node_modules/.cache && rm -rf images /tmp/warm
USER 107:107
ENTRYPOINT ["/usr/bin/cdi-importer", "-alsologtostderr"]
