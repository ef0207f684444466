// A BullMQ queue with a worker and listeners, run by test_bullmq.py: `node bullmq_queue.js PORT`.
// It prints one JSON object that says what was seen.
'use strict';
const { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } = require('bullmq');

const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null };
const PATIENCE_MS = 60000;
const seen = { events: {}, order: [] };

async function work(job) {
  seen.order.push(job.name);
  if (job.name === 'flaky' && job.attemptsMade < 2) throw new Error('not yet');
  if (job.name === 'hopeless') throw new UnrecoverableError('out of luck');
  if (job.name === 'parent') return Object.values(await job.getChildrenValues()).sort();
  await job.updateProgress(50);
  return job.data.number * 2;
}

function count(events, names) {
  for (const name of names) {
    events.on(name, () => { seen.events[name] = (seen.events[name] || 0) + 1; });
  }
}

async function until(isDone, what) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!isDone()) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resume) => setTimeout(resume, 10));
  }
}

async function failure(job, events) {
  try {
    await job.waitUntilFinished(events, PATIENCE_MS);
    return 'it succeeded';
  } catch (error) {
    return error.message;
  }
}

async function plainJobs(queue, events) {
  const jobs = await queue.addBulk([1, 2, 3].map((number) => ({ name: 'double', data: { number } })));
  seen.doubled = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, PATIENCE_MS)));
  const same = { jobId: 'only-once' };
  await queue.add('double', { number: 4 }, same);
  const twin = await queue.add('double', { number: 5 }, same);
  seen.onlyOnce = await twin.waitUntilFinished(events, PATIENCE_MS);
}

async function delayedJob(queue, events) {
  const start = Date.now();
  const job = await queue.add('double', { number: 10 }, { delay: 300 });
  seen.delayedState = await job.getState();
  seen.delayed = await job.waitUntilFinished(events, PATIENCE_MS);
  seen.delayedMs = Date.now() - start;
}

async function failingJobs(queue, events) {
  const flaky = await queue.add('flaky', { number: 21 }, {
    attempts: 3, backoff: { type: 'exponential', delay: 20 },
  });
  seen.flaky = await flaky.waitUntilFinished(events, PATIENCE_MS);
  seen.flakyAttempts = (await queue.getJob(flaky.id)).attemptsMade;
  const hopeless = await queue.add('hopeless', {}, { attempts: 5 });
  seen.hopeless = await failure(hopeless, events);
  seen.hopelessState = await hopeless.getState();
}

async function prioritizedJobs(queue, events) {
  await queue.pause();
  const jobs = [];
  for (const [name, priority] of [['low', 9], ['high', 1], ['middle', 5]]) {
    jobs.push(await queue.add(name, { number: 1 }, { priority }));
  }
  seen.order = [];
  await queue.resume();
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events, PATIENCE_MS)));
  seen.byPriority = [...seen.order];
}

async function flow(queue, events) {
  const producer = new FlowProducer({ connection });
  const children = [1, 2].map((number) => ({ name: 'child', queueName: queue.name, data: { number } }));
  const tree = await producer.add({ name: 'parent', queueName: queue.name, children });
  seen.flow = await tree.job.waitUntilFinished(events, PATIENCE_MS);
  await producer.close();
}

async function repeatedJob(queue) {
  await queue.upsertJobScheduler('tick', { every: 50, limit: 2 }, { name: 'tick', data: { number: 0 } });
  await until(() => seen.order.filter((name) => name === 'tick').length >= 2, 'a second tick');
  await queue.removeJobScheduler('tick');
  seen.repeated = true;
}

async function main() {
  const queue = new Queue('numbers', { connection });
  const events = new QueueEvents('numbers', { connection });
  count(events, ['added', 'completed', 'delayed', 'failed', 'progress', 'retries-exhausted']);
  await events.waitUntilReady();
  const worker = new Worker('numbers', work, { connection });
  await plainJobs(queue, events);
  await delayedJob(queue, events);
  await failingJobs(queue, events);
  await prioritizedJobs(queue, events);
  await flow(queue, events);
  await repeatedJob(queue);
  await worker.close();
  seen.counts = await queue.getJobCounts('active', 'completed', 'failed', 'waiting');
  await until(() => seen.events.completed >= seen.counts.completed, 'the last event');
  await queue.obliterate({ force: true });
  await Promise.all([events.close(), queue.close()]);
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
