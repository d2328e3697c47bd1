# Where Node comes from: the line with long-term support, and whatever a Linux program needs. A release names it by its
# digest: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim

# Nothing in the result belongs to one processor alone, so it is built once, on that of the builder.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
# What the npm package has, but the pages: .dockerignore leaves them out.
RUN --mount=type=cache,target=/root/.npm \
  npm pack --silent --pack-destination /tmp \
  && mkdir -p /image/opt/posthorn /image/usr/local/bin /empty \
  && tar -xzf /tmp/posthorn-*.tgz -C /image/opt/posthorn --strip-components=1 --no-same-owner \
  && cp deploy/docker/healthcheck.mjs /image/opt/posthorn/ \
  && ln -s /opt/posthorn/bin/posthorn.js /image/usr/local/bin/posthorn
# With the packages of Azure and Smartsheet: nobody can add one to a file system that is read-only.
RUN --mount=type=cache,target=/root/.npm \
  node deploy/docker/locked-packages.mjs /packages \
  && cd /packages \
  && npm ci --omit=dev --ignore-scripts \
  && find node_modules/@photostructure/sqlite/prebuilds -mindepth 1 -maxdepth 1 ! -name 'linux-*' -exec rm -r {} + \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.[cm]ts' \) -delete \
  && mv node_modules /image/opt/posthorn/

FROM ${NODE_IMAGE}
ARG VERSION=
ARG REVISION=
ARG CREATED=
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="Posthorn" \
  org.opencontainers.image.description="A webhook gateway: takes webhooks and events in, writes each durably, delivers it signed, retried, in order, never lost." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.source="https://github.com/posthorn/posthorn" \
  org.opencontainers.image.base.name="${NODE_IMAGE}" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
COPY --from=build /image/ /
# A new volume takes its owner from the image.
COPY --from=build --chown=1000:1000 /empty /data
ENV NODE_ENV=production \
  POSTHORN_HOST=0.0.0.0 \
  POSTHORN_DATA_DIR=/data
# Where posthorn.yaml, .env and validations/ are looked for.
WORKDIR /config
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "/opt/posthorn/healthcheck.mjs"]
ENTRYPOINT ["node", "/opt/posthorn/bin/posthorn.js"]
CMD ["start"]
