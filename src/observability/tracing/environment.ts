// Decides by the environment variables of OpenTelemetry whether traces are sent.
type Environment = Readonly<Record<string, string | undefined>>;

/** Returns `on` when the environment has an exporter or an address for traces, and a reason when they cannot be sent. */
export function findTracing(environment: Environment): 'on' | 'off' | { readonly unusable: string } {
  const exporter = read(environment, 'OTEL_TRACES_EXPORTER');
  if (read(environment, 'OTEL_SDK_DISABLED').toLowerCase() === 'true' || exporter === 'none') return 'off';
  const hasAddress = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].some(
    (name) => read(environment, name) !== '',
  );
  if (exporter === '' && !hasAddress) return 'off';
  if (exporter !== '' && exporter !== 'otlp') {
    return { unusable: `OTEL_TRACES_EXPORTER is ${exporter}, but traces are only sent with otlp` };
  }
  const protocol =
    read(environment, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || read(environment, 'OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol === 'grpc') {
    return { unusable: 'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but traces are only sent over HTTP; set http/json' };
  }
  return 'on';
}

function read(environment: Environment, name: string): string {
  return environment[name]?.trim() ?? '';
}
