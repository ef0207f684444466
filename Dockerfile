FROM python:3.12 AS build
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY stratakv stratakv
RUN python -m venv /opt/stratakv && STRATAKV_COMPILE=1 /opt/stratakv/bin/pip install --no-cache-dir .

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home stratakv
COPY --from=build /opt/stratakv /opt/stratakv
ENV PATH=/opt/stratakv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    STRATAKV_BIND=0.0.0.0 \
    STRATAKV_DIR=/data
USER stratakv
VOLUME /data
EXPOSE 6380 9121
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD \
    ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9121/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["stratakv"]
CMD ["serve"]
