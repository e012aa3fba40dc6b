/**
 * OpenTelemetry traces, when a collector is configured. Its packages are loaded then, not before.
 *
 *      caller's traceparent, sampled        a span under the caller's
 *      caller's traceparent, not sampled    nothing: the caller decided
 *      none                                 a trace of its own, for `sampleRatio` of the requests
 *
 * A request that is not traced costs a random number. Finished spans wait in a bounded queue; what does not fit, or what the
 * collector does not take, is lost and said in the log once in a while, never to the client.
 */
import type { Attributes } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { TracingConfig } from '../config/config.ts';
import type { Log } from '../service/log.ts';
import type { TraceContext } from '../service/service.ts';
import { occasionalLog } from './occasional-log.ts';
import { parseTraceParent } from './trace-context.ts';

export interface Tracing {
  /** A span, if this request is traced. Whoever starts one ends it. */
  start(name: string, parent: TraceContext | undefined, attributes: Attributes): RequestSpan | undefined;
  /** Sends what is waiting, for a few seconds at most. */
  shutdown(): Promise<void>;
}

export interface RequestSpan {
  end(attributes: Attributes): void;
  /** `kind` is a code, not a message: messages may hold keys. */
  fail(kind: string): void;
}

const queuedSpans = 2048;
const spansPerExport = 512;
const exportTimeoutMs = 5000;
const shutdownTimeoutMs = 3000;
const longestTraceState = 512;

/** Where nothing is configured. */
export const noTracing: Tracing = { start: () => undefined, shutdown: async () => {} };

export async function startTracing(config: TracingConfig | undefined, log: Log): Promise<Tracing> {
  if (!config) return noTracing;
  const [api, trace, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const { endpoint, sampleRatio, serviceName } = config;
  const trouble = occasionalLog(log);
  const exporter = new OTLPTraceExporter({ url: endpoint, timeoutMillis: exportTimeoutMs });
  const queue = new trace.BatchSpanProcessor(tellingOfFailures(exporter, endpoint, trouble), {
    maxQueueSize: queuedSpans,
    maxExportBatchSize: spansPerExport,
    exportTimeoutMillis: exportTimeoutMs * 2,
  });
  const provider = new trace.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    // Which requests are traced is decided before a span is made.
    sampler: new trace.AlwaysOnSampler(),
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('sluice');

  function contextOf(parent: TraceContext | undefined) {
    const caller = parseTraceParent(parent?.traceparent);
    if (!caller) return Math.random() < sampleRatio ? api.ROOT_CONTEXT : undefined;
    if (!caller.isSampled) return undefined;
    const { tracestate = '' } = parent ?? {};
    return api.trace.setSpanContext(api.ROOT_CONTEXT, {
      traceId: caller.traceId,
      spanId: caller.spanId,
      traceFlags: api.TraceFlags.SAMPLED,
      isRemote: true,
      ...(tracestate && tracestate.length <= longestTraceState && { traceState: api.createTraceState(tracestate) }),
    });
  }

  return {
    start(name, parent, attributes) {
      const context = contextOf(parent);
      if (!context) return undefined;
      const span = tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes }, context);
      return {
        end(more) {
          span.setAttributes(more);
          span.end();
        },
        fail(kind) {
          span.setAttribute('error.type', kind);
          span.setStatus({ code: api.SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    async shutdown() {
      let timer: NodeJS.Timeout | undefined;
      const tooLate = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not finished after ${shutdownTimeoutMs} ms`)), shutdownTimeoutMs);
      });
      await Promise.race([provider.shutdown(), tooLate])
        .catch((err: unknown) => log.warn({ err, endpoint }, 'the last traces were not sent'))
        .finally(() => clearTimeout(timer));
    },
  };
}

/** The queue throws failures away; they have to be heard here. */
function tellingOfFailures(exporter: SpanExporter, endpoint: string, log: Log): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        // 0 is success; the enumeration lives in a package that is not ours to import.
        if (result.code !== 0) {
          log.warn({ err: result.error, endpoint, spans: spans.length }, 'the collector did not take the traces');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush!() }),
  };
}
