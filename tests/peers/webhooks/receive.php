<?php

// Asks the function of docs/guides/webhooks.md, in the folder of the first argument, about deliveries: a
// JSON array of them on standard input, an array of verdicts on standard output.

require "$argv[1]/receiver.php";

$verdict = fn(array $delivery): bool => is_from_legwork(
    $delivery['secret'],
    $delivery['timestamp'],
    $delivery['signature'],
    base64_decode($delivery['body']),
    $delivery['now']
);
$deliveries = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
echo json_encode(array_map($verdict, $deliveries)), "\n";
