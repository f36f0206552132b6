# The image of Coffer: built in one stage, its dependencies installed in another, and run by a user without rights on a
# file system that may be read-only but for /data. How to use it: docs/guides/containers.md.
# The instructions are also followed by hand, without an engine, in test/process/image.test.ts.
# The current LTS version of Node.js.
ARG NODE_VERSION=26

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.base.json LICENSE ./
COPY admin/index.html admin/tsconfig.json admin/
COPY admin/src admin/src
COPY assets assets
COPY bin bin
COPY scripts/build-console.mjs scripts/copy-viewer.mjs scripts/
COPY src src
# The checkout may be closed to others, and the service runs as another user than the one who builds.
RUN npm run build:service && chmod -R go=rX admin assets bin dist package.json LICENSE

FROM node:${NODE_VERSION}-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-bookworm-slim AS service
LABEL org.opencontainers.image.title="Coffer" \
      org.opencontainers.image.licenses="Apache-2.0"
# HOST and PORT go before a configuration file, and hosting platforms may set PORT to something else.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8888 \
    SVC_LOG_FORMAT=json
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/admin/dist admin/dist
COPY --from=build /app/assets assets
COPY --from=build /app/bin bin
COPY --from=build /app/dist dist
# A new volume takes owner and mode from here.
WORKDIR /data
RUN chown 1000:1000 . && chmod 700 .
VOLUME ["/data"]
# The service looks for ./data and ./config: here that is /data, and /config where a configuration may be mounted.
WORKDIR /
USER 1000:1000
EXPOSE 8888
# The image has no curl, so Node asks. This tells whether the process answers, not whether its backends work.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.SVC_HTTP_PORT || process.env.PORT) + '/__lbheartbeat__').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/coffer.js"]
CMD ["start"]
