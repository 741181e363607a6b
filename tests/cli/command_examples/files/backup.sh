#!/bin/sh
echo saved
