# Aurora with the server for agents, the file watcher and PostgreSQL. It needs no network to run:
#
#   docker build --tag aurora-memory .
#   docker run --rm --interactive --network none --user "$(id -u):$(id -g)" \
#     --volume "$PWD:$PWD" --workdir "$PWD" --volume "$HOME/.aurora:/memory" aurora-memory mcp

FROM python:3.13-slim AS build
WORKDIR /aurora
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m venv /opt/aurora \
    && /opt/aurora/bin/pip install --no-cache-dir --constraint constraints.txt '.[mcp,watch,sessions,postgres]'

FROM python:3.13-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 aurora \
    && install --directory --owner aurora --mode 700 /memory /project
COPY --from=build /opt/aurora /opt/aurora
ENV PATH=/opt/aurora/bin:$PATH \
    AURORA_HOME=/memory \
    LANG=C.UTF-8
USER 1000:1000
WORKDIR /project
ENTRYPOINT ["aur"]
CMD ["--help"]
