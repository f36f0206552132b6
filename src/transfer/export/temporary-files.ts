// Temporary files of a piece of work, which also a signal does not leave behind.
import process from 'node:process';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does the work, and removes its temporary files at its end, or before a signal ends the process.
 *
 * @param remove removes the files that exist
 */
export async function withRemoval<T>(remove: () => void, work: () => Promise<T>): Promise<T> {
  const removeAndEnd = (signal: NodeJS.Signals): void => {
    remove();
    // Without the listener the signal has its usual effect.
    for (const each of signals) process.off(each, removeAndEnd);
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, removeAndEnd);
  try {
    return await work();
  } finally {
    for (const signal of signals) process.off(signal, removeAndEnd);
    remove();
  }
}
