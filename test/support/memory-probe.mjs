// Loaded into a server before everything else: at SIGUSR2 it collects all garbage and logs how much memory is still in use.
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = /** @type {() => void} */ (runInNewContext('gc'));

process.on('SIGUSR2', () => {
  // What the first one frees may hold other things until the event loop has turned.
  collect();
  setImmediate(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write(`${JSON.stringify({ Type: 'memory', Severity: 6, Fields: { heapUsed, external } })}\n`);
  });
});
