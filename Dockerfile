# docker build -t medusa-explorer . && docker run -p 7860:7860 medusa-explorer
FROM python:3.11-slim

# Pip takes its index from here, for a CPU-only torch or a mirror: --build-arg PIP_EXTRA_INDEX_URL=…
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL

RUN useradd --create-home --uid 1000 user
WORKDIR /home/user/app

COPY requirements.txt .
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

COPY --chown=user:user . .
USER user
ENV MEDUSA_EXPLORER_CACHE=/home/user/models \
    GRADIO_ANALYTICS_ENABLED=False \
    PYTHONUNBUFFERED=1

# The default model is part of the image: a container starts without a network.
RUN python -m explorer.weights.fetch

EXPOSE 7860
CMD ["python", "app.py", "--host", "0.0.0.0", "--port", "7860"]
