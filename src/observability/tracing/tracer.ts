// Traces: a span for each request, each entry of a batch and each call to a backend, sent with OTLP over HTTP. Loaded
// only when traces are enabled, because its packages are large.
import { messageOf } from '../../base/message-of.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context, DiagLogFunction, Span, Tracer } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../../contracts/logger.ts';
import type { Answered, Observer, OperationObservation, Task } from '../../contracts/observer.ts';
import { describeAnswer, describeOperation } from './attributes.ts';

export interface TracingOptions {
  /** Name of the service, unless the environment has another. */
  readonly serviceName: string;
  readonly version: string;
  readonly logger: Logger;
}

export interface Tracing extends Observer {
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** Starts traces. The environment gives their destination, sampling and name. */
export function startTracing({ serviceName, version, logger }: TracingOptions): Tracing {
  diag.setLogger(diagnostics(logger), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const own = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  return new OpenTelemetry(provider.getTracer('coffer', version), () => provider.shutdown(), logger);
}

interface Current {
  readonly span: Span;
  readonly context: Context;
  /** The start on both clocks: durations of backend calls use the monotonic one. */
  readonly startedAt: number;
  readonly startTime: number;
}

const propagator = new W3CTraceContextPropagator();
const headerGetter = {
  keys: (headers: Task['headers']): string[] => Object.keys(headers),
  get: (headers: Task['headers'], key: string): string | undefined => headers[key],
};

class OpenTelemetry implements Tracing {
  readonly #tracer: Tracer;
  readonly #shutDown: () => Promise<void>;
  readonly #logger: Logger;
  readonly #current = new AsyncLocalStorage<Current>();

  constructor(tracer: Tracer, shutDown: () => Promise<void>, logger: Logger) {
    this.#tracer = tracer;
    this.#shutDown = shutDown;
    this.#logger = logger;
  }

  async enclose<T extends Answered>(task: Task, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const startTime = Date.now();
    const isOuter = task.kind === 'request';
    const parent = isOuter
      ? propagator.extract(ROOT_CONTEXT, task.headers, headerGetter)
      : (this.#current.getStore()?.context ?? ROOT_CONTEXT);
    const span = this.#tracer.startSpan(
      task.method,
      { kind: isOuter ? SpanKind.SERVER : SpanKind.INTERNAL, startTime },
      parent,
    );
    try {
      const context = trace.setSpan(parent, span);
      const answered = await this.#current.run({ span, context, startedAt, startTime }, work);
      const { name, attributes } = describeAnswer(answered);
      span.updateName(isOuter ? name : `batch: ${name}`);
      span.setAttributes(attributes);
      if (answered.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      return answered;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end(startTime + performance.now() - startedAt);
    }
  }

  observe(observation: Parameters<Observer['observe']>[0]): void {
    if (observation.kind === 'operation') this.#addOperation(observation);
    if (observation.kind === 'retry') {
      this.#current.getStore()?.span.addEvent('retry', { 'coffer.attempt': observation.attempt });
    }
  }

  async close(): Promise<void> {
    try {
      await this.#shutDown();
    } catch (error) {
      this.#logger.warn({ reason: messageOf(error) }, 'Tracing: the last spans could not be sent');
    }
  }

  /** Adds the span of a call. Work that belongs to no request, such as that in the background, is not traced. */
  #addOperation(operation: OperationObservation): void {
    const current = this.#current.getStore();
    if (current === undefined) return;
    const { name, attributes } = describeOperation(operation);
    const startTime = current.startTime + operation.startedAt - current.startedAt;
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, current.context);
    if (operation.error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(startTime + operation.milliseconds);
  }
}

function diagnostics(logger: Logger): Record<'error' | 'warn' | 'info' | 'debug' | 'verbose', DiagLogFunction> {
  // Further arguments may contain headers with credentials.
  const warn: DiagLogFunction = (message) => logger.warn({ reason: message.slice(0, 500) }, 'Tracing');
  const ignore: DiagLogFunction = () => undefined;
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}
