// Names and attributes of spans, by the conventions of OpenTelemetry. They contain neither queries nor values, because traces
// leave the machine.
import type { Answered, OperationObservation } from '../../contracts/observer.ts';

interface Description {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Describes the span of a request, or of an entry of a batch. */
export function describeAnswer({ method, route, path, endpoint, status, errno, userId }: Answered): Description {
  return {
    name: route === undefined ? method : `${method} ${route}`,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'url.path': path,
      ...(route === undefined ? {} : { 'http.route': route }),
      ...(endpoint === undefined ? {} : { 'coffer.endpoint': endpoint }),
      ...(errno === 0 ? {} : { 'coffer.errno': errno }),
      ...(userId === undefined ? {} : { 'enduser.id': userId }),
    },
  };
}

/** Describes the span of a call to a backend. */
export function describeOperation({ backend, engine, method, list, error }: OperationObservation): Description {
  return {
    name: `${backend} ${method}`,
    attributes: {
      'db.system.name': engine,
      'db.operation.name': method,
      ...(list === undefined ? {} : { 'coffer.kind': list.kind, 'coffer.parent': list.parent }),
      ...(error instanceof Error ? { 'error.type': error.name } : {}),
    },
  };
}
