// ioredis.Cluster: commands, a pipeline, a transaction, a script and messages over several nodes.
// Arguments: the modules' folder, and a port of the cluster. The last line says what was found.
"use strict";

const [, , modules, port] = process.argv;
const Redis = require(`${modules}/ioredis`);

async function main() {
  const cluster = new Redis.Cluster([{ host: "127.0.0.1", port: Number(port) }]);
  const keys = Array.from({ length: 200 }, (_, number) => `key:${number}`);
  await Promise.all(keys.map((key) => cluster.set(key, key)));
  const values = await Promise.all(keys.map((key) => cluster.get(key)));
  const lost = keys.filter((key, at) => values[at] !== key);

  const piped = await cluster.pipeline().set("{t}1", 1).incr("{t}1").get("{t}1").exec();
  const done = await cluster.multi().rpush("{t}list", "a", "b").llen("{t}list").exec();
  cluster.defineCommand("plus", { numberOfKeys: 1, lua: "return redis.call('incrby', KEYS[1], ARGV[1])" });
  const summed = await cluster.plus("{t}1", 5);
  const crossed = await cluster.mset("a", 1, "b", 2).catch((error) => error.message.split(" ")[0]);

  const listener = new Redis.Cluster([{ host: "127.0.0.1", port: Number(port) }]);
  await listener.subscribe("news");
  const heard = new Promise((resolve) => listener.on("message", (_, text) => resolve(text)));
  await Promise.all(cluster.nodes("master").map((node) => node.publish("news", "hello")));

  console.log(
    JSON.stringify({
      nodes: cluster.nodes("master").length,
      lost: lost.length,
      piped: piped.map(([, value]) => value),
      done: done.map(([, value]) => value),
      summed,
      crossed,
      heard: await heard,
    }),
  );
  cluster.disconnect();
  listener.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
