// The access log: one line per outer request, one per batch entry, one per refused permission, and two
// per live stream, without bodies and credentials.
import type { Logger } from '../contracts/logger.ts';
import type { Answered, LiveObservation, Observer, RequestObservation } from '../contracts/observer.ts';

/** Returns the observer that writes the access log. Fields have the names of Kinto's log. */
export function accessLog(logger: Logger): Observer {
  return {
    observe(observation) {
      if (observation.kind === 'request') {
        const { requestId, entries = [] } = observation;
        for (const entry of entries) logger.info({ ...common(entry), rid: requestId }, 'subrequest.summary');
        logger.info(summary(observation), 'request.summary');
      } else if (observation.kind === 'refusal') {
        const { permission, uri, userId, requestId } = observation;
        logger.info({ perm: permission, uri, userid: userId, rid: requestId }, 'Permission refused');
      } else if (observation.kind === 'live' && observation.event !== 'sent' && observation.transport === 'sse') {
        logStream(logger, observation);
      }
    },
  };
}

/** Long polls are requests with a line of their own. */
function logStream(logger: Logger, observation: Exclude<LiveObservation, { event: 'sent' }>): void {
  const { list, userId, open } = observation;
  const stream = { kind: list.kind, parent: list.parent, uid: userId, open };
  if (observation.event === 'opened') {
    logger.info(stream, 'live.opened');
    return;
  }
  const { reason, milliseconds, frames, resyncs } = observation;
  logger.info({ ...stream, reason, t: Math.round(milliseconds), frames, resyncs }, 'live.ended');
}

/** Returns the common fields; `undefined` ones are not logged. */
function common({ method, path, query, status, milliseconds, errno, userId }: Answered): Record<string, unknown> {
  return {
    method,
    path,
    querystring: query === '' ? undefined : query,
    code: status,
    errno,
    t: Math.round(milliseconds),
    uid: userId,
    authn_type: userId?.slice(0, userId.indexOf(':')),
  };
}

function summary(observation: RequestObservation): object {
  const { requestId, agent, language, entries } = observation;
  const fields = common(observation);
  fields['rid'] = requestId;
  fields['agent'] = agent;
  fields['lang'] = language;
  fields['time'] = formatTime(Date.now());
  fields['batch_size'] = entries?.length;
  return fields;
}

let known = { time: Number.NaN, text: '' };

/** Formats a time. Caches the last one, because under load many requests end in one millisecond. */
function formatTime(time: number): string {
  if (time !== known.time) known = { time, text: new Date(time).toISOString() };
  return known.text;
}
