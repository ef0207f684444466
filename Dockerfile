# The compilers stay in the first stage. plyvel is compiled against Debian's LevelDB (docs/decisions, 17).
FROM python:3.12-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libleveldb-dev
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE constraints.txt ./
COPY stratakv stratakv
RUN python -m venv /opt/stratakv && STRATAKV_COMPILE=1 /opt/stratakv/bin/pip install --no-cache-dir \
    --constraint constraints.txt --no-binary plyvel '.[console,hbase]'

FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends libleveldb1d && rm -rf /var/lib/apt/lists/* && \
    useradd --system --uid 10001 --home-dir /data --create-home stratakv
COPY --from=build /opt/stratakv /opt/stratakv
ENV PATH=/opt/stratakv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    STRATAKV_BIND=0.0.0.0 \
    STRATAKV_DIR=/data
USER stratakv
VOLUME /data
EXPOSE 6380 8380 9121
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD \
    ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9121/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["stratakv"]
CMD ["serve"]
