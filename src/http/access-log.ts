// The access log: one line for each outer request, one more for each entry of a batch, and one for each refusal.
// Neither bodies nor credentials get here.
import type { Logger } from '../contracts/logger.ts';
import type { Answered, Observer, RequestObservation } from '../contracts/observer.ts';

/** Logs what was asked and how it was answered. Fields have the names that existing log pipelines know. */
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
      }
    },
  };
}

function common({ method, path, query, status, milliseconds, errno, userId }: Answered): object {
  return {
    method,
    path,
    ...(query === '' ? {} : { querystring: query }),
    code: status,
    errno,
    t: Math.round(milliseconds),
    uid: userId,
    authn_type: userId?.slice(0, userId.indexOf(':')),
  };
}

function summary(observation: RequestObservation): object {
  const { requestId, agent, language, entries } = observation;
  return {
    ...common(observation),
    rid: requestId,
    agent,
    lang: language,
    time: new Date().toISOString(),
    ...(entries === undefined ? {} : { batch_size: entries.length }),
  };
}
