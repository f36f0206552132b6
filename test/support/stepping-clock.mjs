// Loaded into a server before its own code, this lets the clock of its process go wrong: it is off by some milliseconds,
// and steps back and forth by some more each time a period is over.
import process from 'node:process';

const [offsetMs = 0, stepMs = 0, periodMs = 1000] = (process.env['TEST_CLOCK'] ?? '').split(' ').map(Number);
const rightNow = Date.now.bind(Date);

Date.now = () => {
  const isBack = Math.floor(performance.now() / periodMs) % 2 === 1;
  return rightNow() + offsetMs - (isBack ? stepMs : 0);
};
